//! Conversion of icons into small PNG images.
//!
//! Decoding and encoding drops everything but pixels, such as metadata or data after
//! the image. Size and memory are limited before a pixel is decoded.

use std::io::Cursor;

use bytes::Bytes;
use image::{ImageFormat, ImageReader, Limits};
use pia_policy::UnusableUpload;

/// Maximum width and height of an uploaded image.
const MAX_PIXELS: u32 = 4096;
/// Maximum width and height of an icon.
const ICON_PIXELS: u32 = 256;
/// Maximum memory for decoding, in bytes.
const MAX_DECODED_BYTES: u64 = 128 * 1024 * 1024;
const FORMATS: [ImageFormat; 5] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::Bmp, ImageFormat::Ico];

/// Decodes an image and encodes it as PNG, so that only its pixels are
/// left. A larger image is scaled down.
pub(crate) fn convert(file: &[u8]) -> Result<Bytes, UnusableUpload> {
    let mut reader = ImageReader::new(Cursor::new(file));
    let format = image::guess_format(file)
        .ok()
        .filter(|it| FORMATS.contains(it))
        .ok_or_else(|| unusable("Upload a PNG, JPEG, GIF, BMP or ICO image."))?;
    reader.set_format(format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_PIXELS);
    limits.max_image_height = Some(MAX_PIXELS);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let image = reader
        .decode()
        .map_err(|_broken| unusable("The image is damaged, or larger than 4096 by 4096 pixels."))?;
    let fits = image.width() <= ICON_PIXELS && image.height() <= ICON_PIXELS;
    let icon = if fits { image } else { image.thumbnail(ICON_PIXELS, ICON_PIXELS) };
    let mut png = Cursor::new(Vec::new());
    icon.to_rgba8()
        .write_to(&mut png, ImageFormat::Png)
        .map_err(|_unwritable| unusable("The image can't be converted."))?;

    Ok(png.into_inner().into())
}

fn unusable(message: &str) -> UnusableUpload {
    UnusableUpload(message.to_owned())
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, RgbaImage};

    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        let image = DynamicImage::from(RgbaImage::new(width, height));
        // JPEG has no transparency.
        let image = if format == ImageFormat::Jpeg { image.to_rgb8().into() } else { image };
        image.write_to(&mut file, format).unwrap();
        file.into_inner()
    }

    #[test]
    fn every_format_becomes_a_small_png() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::Bmp] {
            let png = convert(&encoded(600, 300, format))
                .unwrap_or_else(|err| panic!("{format:?}: {err}"));
            let icon = image::load_from_memory_with_format(&png, ImageFormat::Png).unwrap();
            assert_eq!(icon.width(), 256, "{format:?}");
            assert_eq!(icon.height(), 128, "{format:?}");
        }
        let icon = convert(&encoded(32, 32, ImageFormat::Ico)).unwrap();
        assert!(icon.starts_with(b"\x89PNG"));
    }

    #[test]
    fn text_hidden_in_an_image_is_removed() {
        let mut file = encoded(8, 8, ImageFormat::Png);
        file.extend_from_slice(b"<script>alert(1)</script>");
        let icon = convert(&file).unwrap();
        assert!(!icon.windows(8).any(|it| it == b"<script>"));
    }

    #[test]
    fn other_and_oversized_files_are_refused() {
        let svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>";
        let mut broken = encoded(64, 64, ImageFormat::Png);
        broken.truncate(60);
        let large = encoded(5000, 2, ImageFormat::Png);
        for file in [&b""[..], svg, b"RIFF\0\0\0\0WEBP", &broken, &large] {
            assert!(convert(file).is_err());
        }
    }
}
