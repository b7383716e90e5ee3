DOCS = {False: 20000, True: 200000}
PLANS: dict = {}
