from base64 import b64decode
from io import BytesIO

import pandas as pd
from image_files import encoded, noise
from PIL import Image

from losslab.reporting import add_thumbnails


def test_cases_get_small_pictures_of_their_documents_and_of_no_others(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").write_bytes(encoded(noise(960, 640, seed=ord(name))))
    documents = pd.DataFrame({"id": ["1", "2", "3"], "image": ["a.png", "b.png", "gone.png"]})
    cases = add_thumbnails(
        [{"id": "2", "text": "B"}, {"id": "3", "text": "C"}], documents, tmp_path
    )
    assert [case["text"] for case in cases] == ["B", "C"]
    kind, _, content = cases[0]["thumbnail"].partition(",")
    assert kind == "data:image/jpeg;base64"
    with Image.open(BytesIO(b64decode(content))) as small:
        assert small.size == (64, 96)
    assert cases[1]["thumbnail"] is None
