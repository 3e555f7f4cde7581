from losslab.pipelines.distillation.pipeline import TEACHERS, create_pipeline

__all__ = ["TEACHERS", "create_pipeline"]
