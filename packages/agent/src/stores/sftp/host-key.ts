/** Whether an SSH server has the key that the pipeline expects: fingerprints as `ssh-keygen -lf` prints them. */
import { createHash } from 'node:crypto';
import { PermanentFault } from '@headgate/pipelines';

/** SHA-256 has 43 digits in base 64, and one `=` after them. */
const sha256 = (key: Buffer) => `SHA256:${createHash('sha256').update(key).digest('base64').slice(0, 43)}`;

/** The type that a key begins with, such as ssh-ed25519. */
function readType(key: Buffer): string {
  if (key.byteLength < 4) return 'unknown';
  const text = key.toString('latin1', 4, 4 + Math.min(key.readUInt32BE(0), 64));
  return /^[a-z0-9@.-]+$/i.test(text) ? text : 'unknown';
}

/** @returns why the key is refused; undefined if it is the expected one */
export function judgeHostKey(
  key: Buffer,
  expected: string | undefined,
  server: string,
): PermanentFault | undefined {
  const seen = `${readType(key)} ${sha256(key)}`;
  if (expected === undefined || expected.trim() === '')
    return new PermanentFault(
      `${server} has the key ${seen}, which nobody has confirmed: compare it with what its operator says, and set "hostKey" to ${sha256(key)}`,
    );
  if (listFingerprints(expected).includes(sha256(key))) return undefined;
  return new PermanentFault(
    `${server} has the key ${seen}, and not the one of "hostKey": somebody may listen in. Ask its operator; only if the key was changed, set "hostKey" to the new one`,
  );
}

/** Fingerprints, public keys, or lines of known_hosts, with commas or line breaks between them. */
function listFingerprints(expected: string): string[] {
  return expected.split(/[,\n]/).map((entry) => {
    const words = entry.trim().split(/\s+/);
    const fingerprint = words.find((word) => /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(word));
    if (fingerprint !== undefined) return fingerprint.replace(/=$/, '');
    const key = words.find((word) => /^AAAA[A-Za-z0-9+/]{16,}={0,2}$/.test(word));
    if (key !== undefined) return sha256(Buffer.from(key, 'base64'));
    throw new PermanentFault(
      `"hostKey" has ${JSON.stringify(entry.slice(0, 100))}, which is no key: write it as SHA256:… as ssh-keygen -lf prints it`,
    );
  });
}
