"""The frame of a self-contained page: no address outside, readable on a phone, in the dark and in print."""

from __future__ import annotations

from html import escape

__all__ = ["page", "table"]

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --back: #ffffff; --line: #d0d7de; --mark: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9aa4af; --back: #0d1117; --line: #30363d; --mark: #79b8ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p, li { max-width: 46rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } .scroll:focus-visible, button:focus-visible { outline: 3px solid var(--mark); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
td.heat { color: #111; } td small { display: block; font-size: .75em; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; } svg .axis { stroke: var(--line); }
.line { fill: none; stroke-width: 2; } .band { stroke: none; opacity: .15; } .off { display: none; }
.keys { display: flex; flex-wrap: wrap; gap: .4rem; padding: 0; list-style: none; }
.keys button { font: inherit; font-size: .85rem; color: inherit; background: none; border: 1px solid var(--line);
  border-radius: .4rem; padding: .2rem .5rem; cursor: pointer; }
.keys button[aria-pressed=false] { opacity: .45; } .keys svg { width: 2rem; height: .7rem; vertical-align: middle; }
@media print { body { max-width: none; } .keys button[aria-pressed=false] { display: none; }
  .scroll { overflow: visible; } figure, tr { break-inside: avoid; } }
"""

_SCRIPT = """
for (const button of document.querySelectorAll('.keys button')) button.addEventListener('click', () => {
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', on);
  for (const part of document.querySelectorAll('.' + button.dataset.of)) part.classList.toggle('off', !on);
});
"""


def page(title: str, body: str) -> str:
    """A whole document around a body of finished HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"{body}\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def table(caption: str, heads: list[str], rows: list[list[str]]) -> str:
    """A table that scrolls by itself where the screen is narrow.

    Args:
        caption: plain text.
        heads: plain texts.
        rows: finished cells (``<td>...</td>``), or plain texts.
    """
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "\n".join(
        "<tr>" + "".join(cell if cell.startswith("<td") else f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )
