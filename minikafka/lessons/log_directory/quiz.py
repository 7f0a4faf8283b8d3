"""What the quiz asks about the lesson *A log directory at scale*."""

from minikafka.lab.course.places import COURSE
from minikafka.lab.teaching.quiz.question import COMPUTE, Question


def segments_for_a_time() -> tuple[int, int]:
    """How many of three segments are read for records before 22:00, and for those from 07:00 on."""
    from minikafka.lab.stage.source_by_hand import Query

    ten = 1_699_999_200_000
    return tuple(
        len(
            Query(COURSE / "data" / "night" / "broker-1", f"topic = 'orders' AND timestamp {condition}")
            .plan()[0]
            .ranges
        )
        for condition in (f"< {ten}", f">= {ten + 9 * 3_600_000}")
    )


QUESTIONS = (
    Question(
        COMPUTE,
        "What a query reads",
        "`orders` of the shop's night, which began at 20:00, has three segments. Their youngest records are of 02:12,"
        " 06:48 and 07:48. One query asks for orders before 22:00, another for orders from 07:00 on. In how many"
        " segments does each look?",
        segments_for_a_time,
        "Files and indexes tell how late a segment reaches, not how early. Only the second condition prunes. (The"
        " second segment has orders of 20:12: a till had been offline.)",
        card="`timestamp >= …` prunes and `timestamp < …` does not",
    ),
)
