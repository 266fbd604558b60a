"""Pictures for engines without decoders: libjpeg-turbo and OpenCV."""

import random

import cv2
import numpy as np
import rows
import simplejpeg

cv2.setNumThreads(0)


def decode(path):
    with open(path, "rb") as file:
        return simplejpeg.decode_jpeg(file.read(), fastdct=True)


def plain(path):
    image = cv2.resize(decode(path), (224, 224), interpolation=cv2.INTER_LINEAR)
    return image.astype(np.float32) / 255.0


def augmented(path):
    image = decode(path)
    height, width = image.shape[:2]
    for _ in range(10):
        area = height * width * random.uniform(0.08, 1.0)
        ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            image = image[y : y + h, x : x + w]
            break
    image = cv2.resize(image, (224, 224), interpolation=cv2.INTER_LINEAR)
    if random.random() < 0.5:
        image = image[:, ::-1]
    return (image.astype(np.float32) - rows.MEAN) / rows.STD


def of_row(row):
    return plain if row == "P3" else augmented
