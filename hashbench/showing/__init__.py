"""What people read: sheets of grids, and the inks that write them as text, Markdown, LaTeX, HTML, CSV and JSON."""
