"""Makes people in a fresh database and prints their tokens: `python -m benchmarks.people 64`, a set-up process.

Runs beside the product, never inside the load client, which must not load Django.
"""

import json
import sys

import django


def main() -> None:
    """One JSON list of session tokens, as an app gets them when it signs in."""
    django.setup()
    from tests.factories import accounts

    people = [accounts.make_user(password=None) for _ in range(int(sys.argv[1]))]
    print(json.dumps([accounts.session_token(person) for person in people]))


if __name__ == "__main__":
    main()
