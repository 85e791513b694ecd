"""Wrong arguments are named with their values."""

import pytest

from equirl.words.checking import checked_path, inside, unknown_name, whole_array, whole_number


def test_an_unknown_name_is_met_with_the_nearest():
    message = unknown_name("learner", "cucrl", ["ucrl2-l", "c-ucrl"])
    assert message == "unknown learner 'cucrl'; did you mean 'c-ucrl'? Known: c-ucrl, ucrl2-l"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole_number("n_states", 1, least=2), "n_states must be at least 2, not 1"),
        (lambda: inside("delta", 0), "delta must lie strictly between 0 and 1, not 0"),
        (lambda: whole_array("visits", [3, -1]), "visits must be at least 0; entry 1 is -1"),
        (lambda: checked_path("path", 3), "path must be a str or a path, not 3"),
    ],
)
def test_an_error_names_the_argument_and_its_value(call, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message
