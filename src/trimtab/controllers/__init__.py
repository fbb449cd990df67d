"""The bundled controllers, each a short file that reads as documentation."""
