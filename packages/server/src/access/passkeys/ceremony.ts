/**
 * The two ceremonies of WebAuthn Level 3: adding a passkey, and signing in with one. `@simplewebauthn/server` checks
 * what the browser sends; this file gives it challenges that are bound to the browser and end after five minutes.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';

const challengeBytes = 32;
export const challengeSeconds = 300;
const purpose = 'passkey challenge';
/** COSE: EdDSA, ES256 and RS256. */
export const algorithms = [-8, -7, -257];
/** Others need certificates, and the library would ask addresses in them for revocations. */
const plainFormats = new Set(['none', 'packed']);

/** What the browser sent is refused: a sentence for people. */
export class PasskeyRefused extends Error {}

export interface Party {
  /** RP ID: the host of the public address. */
  id: string;
  origin: string;
}

/** Browsers have no passkeys for an IP address: this machine is `localhost`. Undefined for another IP address. */
export function findParty(publicUrl: string): Party | undefined {
  const url = new URL(publicUrl);
  const isAddress = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0;
  if (isAddress && isLoopbackHost(url.hostname)) url.hostname = 'localhost';
  else if (isAddress) return undefined;
  return { id: url.hostname, origin: url.origin };
}

export interface Challenge {
  challenge: string;
  /** Milliseconds since 1970. */
  madeAt: number;
  /** The session in which a passkey is added; undefined for a sign-in. */
  sessionId: string | undefined;
}

export const makeChallenge = (now: Date, sessionId?: string): Challenge => ({
  challenge: randomBytes(challengeBytes).toString('base64url'),
  madeAt: now.getTime(),
  sessionId,
});

export const sealChallenge = (sealer: Sealer, challenge: Challenge): string =>
  sealer.seal(new Secret(JSON.stringify(challenge)), purpose).toString('base64url');

/** @throws PasskeyRefused if it was not made here, for another use, or more than five minutes ago */
export function openChallenge(
  sealer: Sealer,
  sealed: string,
  { now, sessionId }: { now: Date; sessionId: string | undefined },
): Challenge {
  let opened: Challenge | undefined;
  try {
    opened = JSON.parse(sealer.unseal(Buffer.from(sealed, 'base64url'), purpose).reveal()) as Challenge;
  } catch {
    // Not made here.
  }
  if (opened === undefined || opened.sessionId !== sessionId)
    throw new PasskeyRefused('This browser did not ask for it. Try again.');
  if (opened.madeAt + challengeSeconds * 1_000 <= now.getTime())
    throw new PasskeyRefused(`It took longer than ${challengeSeconds / 60} minutes. Try again.`);
  return opened;
}

export interface NewPasskey {
  credentialId: Buffer;
  publicKey: Buffer;
  signCount: number;
  transports: string[];
  isSynced: boolean;
}

const mostCredentialBytes = 1_023;
const knownTransports = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** @param text the JSON of a PublicKeyCredential @throws PasskeyRefused */
export async function verifyNew(text: string, { challenge }: Challenge, party: Party): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  return refuseFailures(async () => {
    const response = JSON.parse(text) as Parameters<typeof verifyRegistrationResponse>[0]['response'];
    const attestation = decodeAttestationObject(
      Buffer.from(response.response.attestationObject, 'base64url'),
    );
    if (!plainFormats.has(attestation.get('fmt')) || attestation.get('attStmt').get('x5c') !== undefined)
      throw new PasskeyRefused('The authenticator sent an attestation that was not asked for.');
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) throw new PasskeyRefused('The answer of the authenticator is not signed rightly.');
    const { credential, credentialBackedUp } = registrationInfo;
    const credentialId = Buffer.from(credential.id, 'base64url');
    if (credentialId.length > mostCredentialBytes)
      throw new PasskeyRefused(`The id of the passkey is longer than ${mostCredentialBytes} bytes.`);
    const transports = Array.isArray(credential.transports) ? credential.transports : [];
    return {
      credentialId,
      publicKey: Buffer.from(credential.publicKey),
      signCount: credential.counter,
      transports: [...new Set(transports)].filter((each) => knownTransports.has(each)),
      isSynced: credentialBackedUp,
    };
  });
}

/** The id of the passkey in an assertion, which is not verified yet. @throws PasskeyRefused */
export function readCredentialId(text: string): Promise<Buffer> {
  return refuseFailures(async () => {
    const { id } = JSON.parse(text) as { id: unknown };
    if (typeof id !== 'string' || !/^[\w-]{1,1364}$/.test(id)) throw new Error('id is not base64url.');
    return Buffer.from(id, 'base64url');
  });
}

export interface StoredPasskey {
  credential_id: Buffer;
  public_key: Buffer;
  sign_count: number;
  user_id: string;
}

/** @throws PasskeyRefused */
export async function verifyUse(
  text: string,
  { challenge }: Challenge,
  party: Party,
  stored: StoredPasskey,
): Promise<{ signCount: number; isSynced: boolean }> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  return refuseFailures(async () => {
    const response = JSON.parse(text) as Parameters<typeof verifyAuthenticationResponse>[0]['response'];
    const { userHandle } = response.response;
    if (userHandle !== undefined && userHandle !== encodeUserHandle(stored.user_id))
      throw new PasskeyRefused('The passkey belongs to another user.');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: {
        id: stored.credential_id.toString('base64url'),
        publicKey: new Uint8Array(stored.public_key),
        counter: stored.sign_count,
      },
    });
    if (!verified) throw new PasskeyRefused('The answer of the authenticator is not signed rightly.');
    return { signCount: authenticationInfo.newCounter, isSynced: authenticationInfo.credentialBackedUp };
  });
}

/** The id of a user says nothing about the person. */
export const encodeUserHandle = (userId: string): string => Buffer.from(userId).toString('base64url');

const mostReasonCharacters = 200;

async function refuseFailures<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (failure) {
    if (failure instanceof PasskeyRefused) throw failure;
    const reason = failure instanceof Error ? failure.message : 'unknown';
    throw new PasskeyRefused(
      `The answer of the browser is refused: ${reason.replaceAll(/[^ -~]+/g, ' ').slice(0, mostReasonCharacters)}`,
    );
  }
}
