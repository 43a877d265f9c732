// Writes a picture of a page with a palette, because pages have few colours, and the file has a third of the size.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Three or four, the number of bytes a pixel. */
  readonly channels: number;
  readonly pixels: Buffer;
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const COLOURS = 256;

export function withPalette(png: Buffer): Buffer {
  const picture = decoded(png);
  const { width, height } = picture;
  const palette = paletteOf(picture);
  const nearest = new Map<number, number>();
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = colourAt(picture, y * width + x);
      let index = nearest.get(colour);
      if (index === undefined) {
        index = nearestOf(palette, colour);
        nearest.set(colour, index);
      }
      rows[y * (width + 1) + x + 1] = index;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // A pixel has eight bits, which are an index into the palette.
  header.set([8, 3, 0, 0, 0], 8);
  const entries = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const colourAt = ({ channels, pixels }: Picture, pixel: number): number => pixels.readUIntBE(pixel * channels, 3);

/** The most frequent colours, without any two similar ones. */
function paletteOf(picture: Picture): readonly number[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < picture.width * picture.height; i++) {
    const colour = colourAt(picture, i);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const frequent = [...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour);
  for (let least = 0; ; least += 4) {
    const chosen: number[] = [];
    for (const colour of frequent) {
      if (chosen.every((one) => distance(one, colour) >= least)) chosen.push(colour);
      if (chosen.length > COLOURS) break;
    }
    if (chosen.length <= COLOURS) return chosen;
  }
}

function distance(a: number, b: number): number {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return red * red + green * green + blue * blue;
}

const nearestOf = (palette: readonly number[], colour: number): number =>
  palette.reduce((best, one, index) => (distance(one, colour) < distance(palette[best] ?? 0, colour) ? index : best), 0);

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Decodes a picture in the form of the browser: eight bits a channel, not interlaced. */
function decoded(png: Buffer): Picture {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const filtered = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : (pixels[y * stride + x - channels] ?? 0);
      const up = y === 0 ? 0 : (pixels[(y - 1) * stride + x] ?? 0);
      const corner = y === 0 || x < channels ? 0 : (pixels[(y - 1) * stride + x - channels] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      pixels[y * stride + x] = ((filtered[y * (stride + 1) + 1 + x] ?? 0) + guess) & 255;
    }
  }
  return { width, height, channels, pixels };
}

/** The predictor of PNG's fourth filter. */
function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
