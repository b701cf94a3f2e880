"""The guarantees of ``manifest.py``, each as a property that holds for any history, judge and store."""
