"""All logs of a broker.

`log_dirs`: which log directories can be used. `log_dir_checkpoints` and `high_watermark_checkpoints`: what is
remembered of the logs between two starts. `log_config_provider`, with `config_repository` and `broker_settings`: their
settings. `logs_to_be_deleted`: the logs on their way out. `log_manager` puts these together.
"""
