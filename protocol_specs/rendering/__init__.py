"""Makes tables, pictures and annotated bytes of the declarations; ``document`` puts them on the pages."""
