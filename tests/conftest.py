from hypothesis import settings

settings.register_profile("equirl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("equirl")
