/** An authenticator of WebAuthn in software, with ES256 keys. It can be told to answer wrongly. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Answering {
  origin: string;
  rpId: string;
  challenge: string;
  /** Default: present and verified. */
  flags?: number;
  type?: string;
}

const present = 0x01;
const verified = 0x04;
const backupEligible = 0x08;
const backedUp = 0x10;
const attested = 0x40;
export const flagsOf = { present, verified };

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** CBOR (RFC 8949) of what attestations hold. */
function encodeCbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value);
  if (Buffer.isBuffer(value)) return Buffer.concat([encodeHead(2, value.length), value]);
  if (typeof value === 'string')
    return Buffer.concat([encodeHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) return Buffer.concat([encodeHead(4, value.length), ...value.map(encodeCbor)]);
  const map = value as Map<unknown, unknown>;
  return Buffer.concat([encodeHead(5, map.size), ...[...map].flat().map(encodeCbor)]);
}

function encodeHead(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}

export class Authenticator {
  readonly id = randomBytes(32);
  readonly #key: KeyObject;
  readonly #jwk: { x?: string; y?: string };
  signCount = 0;
  userHandle = '';
  attestation: [format: string, statement: Map<string, unknown>] = ['none', new Map()];

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#jwk = publicKey.export({ format: 'jwk' });
  }

  /** As JSON.stringify of the credential of `navigator.credentials.create`. */
  create(input: Answering, userHandle: string): string {
    this.userHandle = userHandle;
    const clientData = this.#writeClientData(input, 'webauthn.create');
    const [x, y] = [this.#jwk.x, this.#jwk.y].map((each) => Buffer.from(each ?? '', 'base64url'));
    const key = encodeCbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, x],
        [-3, y],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const data = Buffer.concat([this.#writeData(input, attested), Buffer.alloc(16), length, this.id, key]);
    const [format, statement] = this.attestation;
    const attestation = encodeCbor(
      new Map<string, unknown>([
        ['fmt', format],
        ['attStmt', statement],
        ['authData', data],
      ]),
    );
    return this.#write({
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal', 'hybrid'],
    });
  }

  /** As JSON.stringify of the credential of `navigator.credentials.get`. */
  get(input: Answering): string {
    this.signCount += 1;
    const clientData = this.#writeClientData(input, 'webauthn.get');
    const data = this.#writeData(input, 0);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#key);
    return this.#write({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: this.userHandle,
    });
  }

  #writeClientData({ type, challenge, origin }: Answering, standard: string): Buffer {
    return Buffer.from(JSON.stringify({ type: type ?? standard, challenge, origin, crossOrigin: false }));
  }

  #writeData({ rpId, flags = present | verified }: Answering, more: number): Buffer {
    const head = Buffer.alloc(5);
    head[0] = flags | more | backupEligible | backedUp;
    head.writeUInt32BE(this.signCount, 1);
    return Buffer.concat([sha256(rpId), head]);
  }

  #write(response: object): string {
    const id = this.id.toString('base64url');
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response });
  }
}
