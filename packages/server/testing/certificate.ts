/**
 * A self-signed certificate for localhost, encoded by hand because Node cannot create certificates (RFC 5280
 * §4.1, X.690).
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface MadeCertificate {
  /** PEM. */
  cert: string;
  key: string;
}

const day = 86_400_000;

export function makeCertificate(validDays = 30): MadeCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = encodeSequence(Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = Buffer.from('0603550403', 'hex');
  const name = encodeSequence(
    encodeElement(0x31, encodeSequence(commonName, encodeElement(0x0c, Buffer.from('headgate test')))),
  );
  const from = validDays > 0 ? Date.now() - day : Date.now() + (validDays - 1) * day;
  const signed = encodeSequence(
    encodeElement(0xa0, encodeInteger(Buffer.of(2))),
    encodeInteger(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    encodeSequence(encodeTime(from), encodeTime(Date.now() + validDays * day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeElement(0xa3, encodeSequence(encodeAlternativeNames(), isAuthority())),
  );
  const signature = sign('sha256', signed, privateKey);
  const der = encodeSequence(
    signed,
    ecdsaWithSha256,
    encodeElement(0x03, Buffer.concat([Buffer.of(0), signature])),
  );
  const body = der.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body}-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

/** localhost and 127.0.0.1. */
function encodeAlternativeNames(): Buffer {
  const names = encodeSequence(
    encodeElement(0x82, Buffer.from('localhost')),
    encodeElement(0x87, Buffer.of(127, 0, 0, 1)),
  );
  return encodeSequence(Buffer.from('0603551d11', 'hex'), encodeElement(0x04, names));
}

function isAuthority(): Buffer {
  return encodeSequence(
    Buffer.from('0603551d13', 'hex'),
    encodeElement(0x04, encodeSequence(Buffer.from('0101ff', 'hex'))),
  );
}

function encodeTime(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return encodeElement(0x18, Buffer.from(text));
}

const encodeSequence = (...parts: Buffer[]) => encodeElement(0x30, Buffer.concat(parts));
const encodeInteger = (bytes: Buffer) => encodeElement(0x02, bytes);

function encodeElement(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 128
      ? Buffer.of(length)
      : length < 256
        ? Buffer.of(0x81, length)
        : Buffer.of(0x82, length >> 8, length & 0xff);
  return Buffer.concat([Buffer.of(tag), size, content]);
}
