"""Every decision, with a clock and chance of the test's own: no network, no threads."""

import unittest

from credgate_client import Credential, Grammar, Mode, NodeIds, NotFound, Password, Settings, Unavailable, Verdict
from credgate_client.core import NO_ANSWER, Ask, Core, Pause

BACKEND = Unavailable("UNAVAILABLE", "BACKEND_UNAVAILABLE")
AWAY = Unavailable("UNAVAILABLE", "NO_CONNECTION")


class Case(unittest.TestCase):
    def make(self, endpoints=1, **changed):
        self.now, self.chance = 1000.0, 0.0
        names = [f"127.0.0.{number + 1}:1" for number in range(endpoints)]
        settings = Settings(names, plaintext=True, token_file="t", **{"ttl": 100.0, "timeout": 3.0, **changed})
        return Core(settings, lambda: self.now, lambda: self.chance)

    def ask(self, core, node, *endings, verify=False):
        """The answer to one question whose asks end so; also the steps that were taken."""
        entered = core.enter(node, verify, object)
        if not isinstance(entered, tuple):
            self.assertEqual(endings, (), "it was answered at once")
            return entered, []
        flight, leads = entered
        self.assertTrue(leads)
        endings, heard, steps = list(endings), None, []
        while True:
            try:
                steps.append(flight.steps.send(heard))
            except StopIteration as landed:
                self.assertEqual(endings, [], "more asks than there were")
                core.land(flight, landed.value)
                return core.answer(node, landed.value), steps
            if isinstance(steps[-1], Pause):
                self.now += steps[-1].seconds
                heard = None
            else:
                heard = endings.pop(0)

    def found(self, answer, text, cached):
        self.assertEqual((answer.password.expose(), answer.cached), (text, cached))


class Retries(Case):
    def test_unavailable_and_cancelled_are_asked_once_more_elsewhere_and_at_once(self):
        for ending in (BACKEND, AWAY, Unavailable("CANCELLED", "NO_CONNECTION")):
            answer, steps = self.ask(self.make(endpoints=3), "1", ending, Password("a"))
            self.found(answer, "a", cached=False)
            self.assertEqual([step.endpoint for step in steps], [0, 1])

    def test_the_same_gateway_is_asked_a_little_later(self):
        core = self.make()
        self.chance = 0.75
        answer, steps = self.ask(core, "1", AWAY, NotFound())
        self.assertEqual(answer, NotFound())
        self.assertEqual(steps, [Ask(0, 3.0), Pause(0.0625), Ask(0, 2.9375)])

    def test_never_twice(self):
        answer, _ = self.ask(self.make(endpoints=3), "1", BACKEND, BACKEND)
        self.assertEqual(answer, BACKEND)

    def test_the_gateways_own_word_counts_more(self):
        answer, _ = self.ask(self.make(endpoints=2), "1", BACKEND, AWAY)
        self.assertEqual(answer, BACKEND)

    def test_others_are_final(self):
        for code in ("INTERNAL", "UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"):
            answer, steps = self.ask(self.make(endpoints=2), "1", Unavailable(code, ""))
            self.assertEqual((answer, len(steps)), (Unavailable(code, ""), 1))

    def test_no_room_is_asked_again_when_it_says_so_and_inside_the_deadline(self):
        full = Unavailable("RESOURCE_EXHAUSTED", "AT_CAPACITY")
        self.assertEqual(self.ask(self.make(), "1", full)[0], full)
        later = Unavailable("RESOURCE_EXHAUSTED", "RATE_LIMITED", 3.0)
        self.assertEqual(self.ask(self.make(), "1", later)[0], later)
        soon = Unavailable("RESOURCE_EXHAUSTED", "RATE_LIMITED", 1.0)
        core = self.make()
        self.chance = 1.0
        answer, steps = self.ask(core, "1", soon, Password("a"))
        self.found(answer, "a", cached=False)
        self.assertEqual(steps[1], Pause(1.2))

    def test_no_retry_when_the_time_is_over(self):
        core = self.make(endpoints=2)
        flight, _ = core.enter("1", False, object)
        flight.steps.send(None)
        self.now += 3.0
        with self.assertRaises(StopIteration) as landed:
            flight.steps.send(BACKEND)
        self.assertEqual(landed.exception.value, BACKEND)


class Endpoints(Case):
    def test_one_that_went_is_left_at_once_and_found_again(self):
        core = self.make(endpoints=2, ttl=0.0)
        core.endpoints.watched(0, True, True)
        core.endpoints.watched(1, True, True)
        draining = Unavailable("UNAVAILABLE", "DRAINING")
        for node, endings, asked in [("1", [draining, NotFound()], [0, 1]), ("2", [NotFound()], [1])]:
            self.assertEqual([step.endpoint for step in self.ask(core, node, *endings)[1]], asked)
        core.endpoints.watched(0, True, False)  # a late word of the old stream
        self.assertEqual(core.endpoints.choose(self.now), 1)
        core.endpoints.watched(0, True, True)
        self.assertEqual(core.endpoints.choose(self.now), 0)

    def test_a_silent_one_is_left_longer(self):
        core = self.make(endpoints=2)
        self.ask(core, "1", NO_ANSWER)
        self.assertEqual([core.endpoints.choose(self.now + later) for later in (0.0, 4.9, 5.0)], [1, 1, 0])

    def test_what_is_behind_it_is_no_matter_of_the_gateway(self):
        core = self.make(endpoints=2)
        for reason in ("BACKEND_UNAVAILABLE", "CORRUPT_RECORD", "RATE_LIMITED"):
            core.endpoints.heard(0, Unavailable("X", reason), self.now)
        self.assertEqual(core.endpoints.choose(self.now), 0)

    def test_health_orders_them(self):
        core = self.make(endpoints=3)
        core.endpoints.watched(1, True, True)
        self.assertEqual((core.endpoints.choose(self.now), core.endpoints.choose(self.now, but=1)), (1, 0))
        for index in range(3):
            core.endpoints.watched(index, False)
        self.assertEqual(core.endpoints.choose(self.now), 0, "one of the bad ones is tried anyway")


class Cache(Case):
    def test_jitter_only_shortens_and_time_counts_from_the_question(self):
        for chance, lasts in ((0.0, 100.0), (1.0, 80.0)):
            core = self.make()
            self.chance = chance
            self.ask(core, "1", Password("a"))
            self.now += lasts - 0.01
            self.found(core.enter("1", False, object), "a", cached=True)
            self.now += 0.01
            self.assertIsInstance(core.enter("1", False, object), tuple)

    def test_a_slow_answer_is_as_old_as_its_question(self):
        core = self.make(timeout=60.0)
        flight, _ = core.enter("1", False, object)
        flight.steps.send(None)
        self.now += 50.0
        core.land(flight, Password("a"))
        self.now += 50.0
        self.assertIsInstance(core.enter("1", False, object), tuple)

    def test_the_one_asked_for_longest_ago_makes_room(self):
        core = self.make(capacity=2, mode=Mode.CENTRAL_FIRST)
        for node in ("1", "2", "1", "3"):
            self.ask(core, node, Password(node))
        self.assertEqual(self.ask(core, "2", BACKEND, BACKEND)[0], BACKEND)
        self.found(self.ask(core, "1", BACKEND, BACKEND)[0], "1", cached=True)
        self.found(self.ask(core, "3", BACKEND, BACKEND)[0], "3", cached=True)

    def test_expired_passwords_do_not_stay_until_somebody_asks(self):
        core = self.make()
        for node in range(500):
            self.ask(core, str(node), Password("x"))
        self.now += 100.0
        self.ask(core, "1000", Password("y"))
        self.assertEqual(len(core._cache), 1)

    def test_not_found_removes_and_nothing_is_kept_of_it(self):
        core = self.make(mode=Mode.CENTRAL_FIRST)
        self.ask(core, "1", Password("a"))
        self.found(self.ask(core, "1", BACKEND, BACKEND)[0], "a", cached=True)
        self.assertEqual(self.ask(core, "1", NotFound())[0], NotFound())
        self.assertEqual(self.ask(core, "1", BACKEND, BACKEND)[0], BACKEND)

    def test_whatever_is_unavailable_is_bridged_until_the_ttl_ends(self):
        for code in ("UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "INTERNAL", "DEADLINE_EXCEEDED"):
            core = self.make(mode=Mode.CENTRAL_FIRST)
            self.ask(core, "1", Password("a"))
            self.found(self.ask(core, "1", Unavailable(code, ""))[0], "a", cached=True)
            self.now += 100.0
            self.assertEqual(self.ask(core, "1", Unavailable(code, ""))[0], Unavailable(code, ""))


class Verifying(Case):
    def test_a_wrong_answer_asks_at_most_once_in_the_interval_also_after_a_new_password(self):
        core = self.make(verify_interval=10.0)
        self.ask(core, "1", Password("a"))
        self.found(self.ask(core, "1", Password("b"), verify=True)[0], "b", cached=False)
        self.found(self.ask(core, "1", verify=True)[0], "b", cached=True)
        self.now += 10.0
        self.found(self.ask(core, "1", Password("c"), verify=True)[0], "c", cached=False)

    def test_an_outage_leaves_the_cached_one(self):
        core = self.make()
        self.ask(core, "1", Password("a"))
        self.found(self.ask(core, "1", BACKEND, BACKEND, verify=True)[0], "a", cached=True)

    def test_verdicts(self):
        for answer, verdict in (
            (Credential(Password("a"), cached=False), Verdict.ACCEPTED),
            (Credential(Password("b"), cached=True), Verdict.REFUSED),
            (NotFound(), Verdict.REFUSED),
            (BACKEND, BACKEND),
        ):
            self.assertEqual(Core.verdict(answer, lambda password: password == "a"), verdict)


class NodeNames(unittest.TestCase):
    def test_grammars(self):
        digits, token = NodeIds(), NodeIds(Grammar.TOKEN)
        for node, digit, word in (
            ("2000", True, True), ("0200", True, True), ("1234567890", True, True), ("12345678901", False, True),
            ("", False, False), ("a.b_c+d-E", False, True), ("2000\n", False, False), ("٢", False, False),
            ("a b", False, False), ("x" * 64, False, True), ("x" * 65, False, False), ("a@b", False, False),
        ):  # fmt: skip
            self.assertEqual((digits.accept(node), token.accept(node)), (digit, word), node)
        self.assertEqual((NodeIds(max_length=3).accept("123"), NodeIds(max_length=3).accept("1234")), (True, False))

    def test_what_is_no_node_is_not_asked(self):
        core = Case.make(self, mode=Mode.CENTRAL_FIRST)
        self.assertEqual(core.enter("x", False, object), NotFound())


class Flights(Case):
    def test_one_question_at_a_time_about_a_node(self):
        core = self.make()
        first, leads = core.enter("1", False, object)
        second, follows = core.enter("1", False, object)
        _, other = core.enter("2", False, object)
        self.assertEqual((first is second, leads, follows, other), (True, True, False, True))
        core.land(first, BACKEND)
        self.assertTrue(core.enter("1", False, object)[1])


if __name__ == "__main__":
    unittest.main()
