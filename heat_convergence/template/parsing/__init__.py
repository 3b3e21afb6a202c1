"""Documents to plain JSON data, the versions of the language, and URL checks."""
