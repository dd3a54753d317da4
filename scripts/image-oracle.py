"""Creates files for the tests of Shared/Images, and inspects its output with third-party programs.

make FOLDER   writes the samples, and blurhashes.json with pixels and their blurhashes; once, because it takes seconds
look FILE…    prints a JSON list with the properties of each file according to Pillow and exiftool
"""

import hashlib
import io
import json
import random
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path

import blurhash
import pillow_heif
from PIL import Image, ImageCms, ImageDraw, ImageSequence

pillow_heif.register_heif_opener()
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def scene(width, height, mode="RGB"):
    """Returns four quarters of four colours over a fine pattern, whose corners show the orientation."""
    image = Image.effect_noise((width, height), 12).convert("L")
    image = Image.merge("RGB", [image, image, image])
    tint = Image.new("RGB", (width, height), (200, 30, 30))
    draw = ImageDraw.Draw(tint)
    draw.rectangle((width // 2, 0, width, height // 2), fill=(30, 180, 30))
    draw.rectangle((0, height // 2, width // 2, height), fill=(30, 30, 200))
    draw.rectangle((width // 2, height // 2, width, height), fill=(230, 230, 60))
    return Image.blend(image, tint, 0.9).convert(mode)


def tagged(path):
    """Adds all metadata that a phone or an editor writes."""
    tags = ["-Make=Roostphone", "-Model=R1", "-GPSLatitude=47.3769", "-GPSLatitudeRef=N", "-GPSLongitude=8.5417"]
    tags += ["-GPSLongitudeRef=E", "-DateTimeOriginal=2026:05:04 03:02:01", "-SerialNumber=12345", "-Artist=Ana Secret"]
    tags += ["-XMP:Creator=Ana Secret", "-XMP:City=Zurich", "-Comment=Ana's secret comment"]
    if path.suffix == ".jpg":
        tags += ["-IPTC:City=Zurich", "-IPTC:By-line=Ana Secret"]
    subprocess.run(["exiftool", "-q", "-m", "-overwrite_original", *tags, str(path)], check=True)


def jpegs(folder):
    picture = scene(1600, 1200)
    picture.save(folder / "tagged.jpg", quality=90, icc_profile=PROFILE)
    tagged(folder / "tagged.jpg")
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        scene(900, 600).save(folder / f"orientation-{orientation}.jpg", quality=90, exif=exif)
    picture.save(folder / "progressive.jpg", progressive=True, quality=90)
    Image.new("RGB", (8000, 6000), (90, 120, 60)).save(folder / "large.jpg")
    # A progressive JPEG is decoded in memory, with three bytes per pixel.
    Image.new("RGB", (5000, 4000), (90, 120, 60)).save(folder / "heavy.jpg", progressive=True)
    scene(3000, 100).save(folder / "wide.jpg", quality=90)
    scene(40, 30).save(folder / "small.jpg", quality=90)
    scene(700, 500, "L").save(folder / "grey.jpg", quality=90)
    scene(700, 500, "CMYK").save(folder / "cmyk.jpg", quality=90)
    # Phones append a short video or a second image to the picture.
    film = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(range(256)) * 200
    (folder / "film-behind.jpg").write_bytes((folder / "small.jpg").read_bytes() + film)
    (folder / "two.jpg").write_bytes((folder / "grey.jpg").read_bytes() + (folder / "small.jpg").read_bytes())


def pngs(folder):
    scene(1500, 900).save(folder / "plain.png", icc_profile=PROFILE)
    tagged(folder / "plain.png")
    transparent = scene(800, 800)
    transparent.putalpha(Image.linear_gradient("L").resize((800, 800)))
    transparent.save(folder / "alpha.png")
    transparent.quantize(64).save(folder / "palette.png")
    scene(700, 500, "L").convert("I").point(lambda value: value * 256).convert("I;16").save(folder / "grey16.png")
    scene(700, 500, "1").save(folder / "onebit.png")


def moving(folder, name, count, size, **options):
    frames = []
    for number in range(count):
        frame = scene(*size)
        ImageDraw.Draw(frame).ellipse((number * 10, 20, number * 10 + 40, 60), fill=(255, 255, 255))
        frames.append(frame)
    frames[0].save(folder / name, save_all=True, append_images=frames[1:], **options)


def others(folder):
    scene(500, 400).convert("P", palette=Image.Palette.ADAPTIVE).save(
        folder / "still.gif", comment=b"Ana's secret comment"
    )
    moving(
        folder, "moving.gif", 5, (900, 300), duration=[100, 200, 300, 400, 500], loop=3, comment=b"Ana's secret comment"
    )
    moving(folder, "sixty.gif", 60, (60, 40), duration=40, loop=0)
    moving(folder, "sixty-one.gif", 61, (60, 40), duration=40, loop=0)
    scene(1500, 900).save(folder / "still.webp", quality=85, icc_profile=PROFILE)
    tagged(folder / "still.webp")
    transparent = scene(400, 300)
    transparent.putalpha(128)
    transparent.save(folder / "alpha.webp", lossless=True)
    moving(folder, "moving.webp", 4, (300, 200), duration=120, loop=2)
    # More frames than libvips keeps in memory.
    film = [Image.new("RGB", (1000, 800), (number * 5, 90, 120)) for number in range(40)]
    film[0].save(folder / "long.webp", save_all=True, append_images=film[1:], duration=40, lossless=True, method=0)
    exif = Image.Exif()
    exif[0x010F] = "Roostphone"
    scene(1600, 1200).save(folder / "photo.heic", quality=80, exif=exif, icc_profile=PROFILE)
    tagged(folder / "photo.heic")


def refused(folder):
    photo = (folder / "progressive.jpg").read_bytes()
    plain = (folder / "tagged.jpg").read_bytes()
    write = lambda name, content: (folder / name).write_bytes(content)  # noqa: E731
    write("empty.jpg", b"")
    write("page.jpg", b"<!DOCTYPE html><html><script>alert(1)</script></html>")
    write("drawing.jpg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    write("document.png", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n")
    write("text.gif", b"GIF is what this is not.")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("evil.class", b"\xca\xfe\xba\xbe")
    write("archive.webp", packed.getvalue())
    scene(50, 50).save(folder / "photo.tiff")
    scene(50, 50).save(folder / "photo.bmp")
    scene(50, 50).save(folder / "photo.avif")
    write("truncated.jpg", plain[: len(plain) // 2])
    write("truncated-progressive.jpg", photo[: len(photo) * 3 // 4])
    write("without-end.jpg", plain[:-2])
    for name in ["plain.png", "moving.gif", "still.webp", "photo.heic"]:
        content = (folder / name).read_bytes()
        write(f"truncated.{name.rpartition('.')[2]}", content[: len(content) * 2 // 3])
    write("jpeg-and-zip.jpg", plain + packed.getvalue())
    write("png-and-zip.png", (folder / "alpha.png").read_bytes() + packed.getvalue())
    write("jpeg-and-page.jpg", commented(plain, b"<html><body><script>alert(1)</script>"))
    write("jpeg-and-pdf.jpg", commented(plain, b"%PDF-1.4\n1 0 obj<<>>endobj"))
    write("script-behind.jpg", plain + b"\n<?php system($_GET['c']); ?>")
    write("archive-behind.gif", (folder / "still.gif").read_bytes() + b"Rar!\x1a\x07\x00" + bytes(100))
    write("program-behind.png", (folder / "alpha.png").read_bytes() + b"MZ\x90\x00" + bytes(100))
    bombs(folder, write)


def commented(jpeg, comment):
    return jpeg[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + jpeg[2:]


def bombs(folder, write):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    def png(width, height, rows):
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
        packer = zlib.compressobj(9)
        body = b"".join(packer.compress(bytes((width + 7) // 8 + 1) * 100) for _ in range(rows // 100)) + packer.flush()
        return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")

    write("bomb.png", png(30_000, 30_000, 30_000))
    write("overflow.png", png(0x7FFFFFFF, 0x7FFFFFFF, 0))
    write("flat.png", png(0, 100, 100))
    frame = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"
    screen = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff"
    write("million.gif", screen + frame * 1_000_000 + b";")
    write("wide-frame.gif", screen + b"\x2c\xff\xff\xff\xff\xff\xff\xff\xff\0\x02\x02\x44\x01\0;")
    jpeg = (folder / "small.jpg").read_bytes()
    frame = next(at for at in range(len(jpeg)) if jpeg[at : at + 2] == b"\xff\xc0")
    write("bomb.jpg", jpeg[: frame + 5] + struct.pack(">HH", 65_500, 65_500) + jpeg[frame + 9 :])
    scan = jpeg.index(b"\xff\xda")
    # Each scan of one component adds no data but makes a decoder pass over the whole image.
    write("scans.jpg", jpeg[:scan] + (b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00") * 100_000 + b"\xff\xd9")
    heic = bytearray((folder / "photo.heic").read_bytes())
    size = heic.index(b"ispe")
    bomb = bytearray(heic)
    bomb[size + 8 : size + 16] = struct.pack(">II", 60_000, 60_000)
    write("bomb.heic", bytes(bomb))
    box = bytearray(heic)
    meta = box.index(b"meta")
    box[meta - 4 : meta] = struct.pack(">I", 3)
    write("boxes.heic", bytes(box))
    pixels = heic.index(b"mdat") + 12
    dice = random.Random(7)
    heic[pixels:] = bytes(dice.randrange(256) for _ in range(len(heic) - pixels))
    write("scrambled.heic", bytes(heic))


def hashes(folder):
    dice = random.Random(1)
    made = []
    for width, height in [(1, 1), (2, 3), (64, 48), (64, 64), (33, 64), (64, 1)]:
        base = [dice.randrange(256) for _ in range(6)]
        rows = [
            [
                [
                    min(
                        255,
                        max(
                            0, base[c] + (base[c + 3] - base[c]) * (x + y) // (width + height) + dice.randrange(-20, 21)
                        ),
                    )
                    for c in range(3)
                ]
                for x in range(width)
            ]
            for y in range(height)
        ]
        made.append(
            {
                "width": width,
                "height": height,
                "pixels": [value for row in rows for pixel in row for value in pixel],
                "hash": blurhash.encode(rows, components_x=4, components_y=3),
            }
        )
    (folder / "blurhashes.json").write_text(json.dumps(made))


def make(folder):
    script = Path(__file__).read_bytes()
    if (folder / "made-by").exists() and (folder / "made-by").read_bytes() == script:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in (jpegs, pngs, others, refused, hashes):
        part(folder)
    (folder / "made-by").write_bytes(script)


def digest(profile):
    return hashlib.sha256(profile).hexdigest() if profile else None


def inspect(paths):
    # Pillow warns about palettes with transparency.
    warnings.simplefilter("ignore")
    output = subprocess.run(["exiftool", "-json", "-G1", "-a", *paths], capture_output=True, check=True).stdout
    inspections = []
    for path, tags in zip(paths, json.loads(output), strict=True):
        with Image.open(path) as image:
            frames = [frame.copy() for frame in ImageSequence.Iterator(image)]
            first = frames[0].convert("RGB")
            width, height = first.size
            small = first.resize((8, 8), Image.Resampling.BOX)
            inspections.append(
                {
                    "format": image.format.lower(),
                    "width": width,
                    "height": height,
                    "frames": len(frames),
                    "durations": [round(frame.info.get("duration", 0)) for frame in frames],
                    "loop": image.info.get("loop", 0),
                    "hasAlpha": frames[0].has_transparency_data,
                    "mode": image.mode,
                    "profile": digest(image.info.get("icc_profile")),
                    # The mean colours of the four corners, in reading order.
                    "corners": [list(small.getpixel(at)) for at in [(1, 1), (6, 1), (1, 6), (6, 6)]],
                    "tags": sorted(tags),
                    "secrets": "Secret" in json.dumps(tags)
                    or "Zurich" in json.dumps(tags)
                    or "Roost" in json.dumps(tags),
                }
            )
    print(json.dumps(inspections))


if sys.argv[1] == "make":
    make(Path(sys.argv[2]))
else:
    inspect(sys.argv[2:])
