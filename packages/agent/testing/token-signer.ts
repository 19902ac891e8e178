/** Signs bearer tokens like a cloud, and checks their signature, audience and time. */
import { exportSPKI, generateKeyPair, importSPKI, type JWTPayload, jwtVerify, SignJWT } from 'jose';

const algorithm = 'RS256';

export async function createTokenSigner() {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  return {
    sign: (claims: JWTPayload, seconds: number): Promise<string> =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm })
        .setIssuedAt()
        .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
        .sign(privateKey),
    check: async (authorization: string | undefined, expected: { audience: string | string[] }) =>
      checkToken(authorization, await exportSPKI(publicKey), expected),
  };
}

/** The claims of a valid bearer token; undefined if it is not valid. */
export async function checkToken(
  authorization: string | undefined,
  publicKey: string,
  expected: { audience?: string | string[]; issuer?: string },
): Promise<JWTPayload | undefined> {
  const token = /^Bearer ([\w.-]+)$/.exec(authorization ?? '')?.[1];
  if (token === undefined) return undefined;
  const key = await importSPKI(publicKey, algorithm);
  const checked = await jwtVerify(token, key, { algorithms: [algorithm], ...expected }).catch(
    () => undefined,
  );
  return checked?.payload.exp === undefined ? undefined : checked.payload;
}
