CASES: dict = {}
