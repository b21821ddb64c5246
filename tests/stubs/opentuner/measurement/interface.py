"""Interfaces."""


class DefaultMeasurementInterface:
    """Holds the manipulator."""

    def __init__(self, args, manipulator, project_name, program_name):
        self.manipulator = manipulator
