"""Cases of a script: a decorator that runs a function at once and counts whether it raised."""


class Cases:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, function):
        try:
            function()
            self.passed += 1
        except Exception as error:
            self.failed += 1
            print(f"FAILED {function.__name__}: line {error.__traceback__.tb_next.tb_lineno}: {error!r}")
        return function

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed"
