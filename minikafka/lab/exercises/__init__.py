"""What a reader is asked. Read `prediction`, `task` and `exercise` first.

`witnessed` has the cases that a witness answers, `asked` those that one method or one log manager answers (`managed`
makes such managers), `wrecked` damaged logs for either, `drawn_logs` directories that a log has written. `predict_call`
reads predictions in code that is not run. `progress` keeps what a learner has done. The questions, exercises and
solutions themselves are the lessons' own.
"""
