"""The report: one page in HTML with all tables, figures, machines and what is missing, made from the stored rows."""
