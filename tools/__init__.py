"""Programs for those who work on this repository; not part of the package."""
