from losslab.pipelines.predict.pipeline import assemble, create_pipeline

__all__ = ["assemble", "create_pipeline"]
