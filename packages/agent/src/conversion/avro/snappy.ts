/** Decompresses the raw format of Snappy (google/snappy, format_description.txt), within a bound. */
import { FileFault } from '../file-fault.ts';

const damaged = () => new FileFault('a block that is compressed by snappy is damaged');

export function decompressSnappy(bytes: Buffer, limit: number): Buffer {
  const [length, begin] = readLength(bytes);
  if (length > limit)
    throw new FileFault(`a block has ${length} bytes when it is unpacked; the limit is ${limit}`);
  const output = Buffer.allocUnsafe(length);
  let to = 0;
  let from = begin;
  while (from < bytes.byteLength) {
    const tag = bytes[from] ?? 0;
    const kind = tag & 3;
    let count = (tag >> 2) + 1;
    from += 1;
    if (kind === 0) {
      if (count > 60) {
        const size = count - 60;
        if (from + size > bytes.byteLength) throw damaged();
        count = bytes.readUIntLE(from, size) + 1;
        from += size;
      }
      if (from + count > bytes.byteLength || to + count > length) throw damaged();
      bytes.copy(output, to, from, from + count);
      from += count;
    } else {
      const size = kind === 3 ? 4 : kind;
      if (from + size > bytes.byteLength) throw damaged();
      let distance = bytes.readUIntLE(from, size);
      if (kind === 1) {
        count = ((tag >> 2) & 7) + 4;
        distance += (tag >> 5) << 8;
      }
      from += size;
      if (distance === 0 || distance > to || to + count > length) throw damaged();
      // What is copied may overlap what it becomes, so that a pattern repeats.
      if (distance >= count) output.copyWithin(to, to - distance, to - distance + count);
      else for (let at = to; at < to + count; at += 1) output[at] = output[at - distance] ?? 0;
    }
    to += count;
  }
  if (to !== length) throw damaged();
  return output;
}

function readLength(bytes: Buffer): [length: number, end: number] {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) break;
    length += (byte & 0x7f) * 128 ** at;
    if (byte < 0x80) return [length, at + 1];
  }
  throw damaged();
}
