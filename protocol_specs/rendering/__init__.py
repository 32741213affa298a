"""How the declarations are shown in the reference: tables, pictures, annotated bytes.  ``document`` puts them there."""
