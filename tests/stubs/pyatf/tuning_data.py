"""The error of failed configurations."""


class CostFunctionError(BaseException):
    """Failed."""
