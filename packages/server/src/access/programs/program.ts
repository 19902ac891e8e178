/** The programs that may act as a person who signs in. All are public clients: they hold no secret (RFC 8252). */

export const programs: Readonly<Record<string, string>> = { 'headgate-cli': 'Headgate command line' };

export const findProgramName = (clientId: string): string | undefined =>
  Object.hasOwn(programs, clientId) ? programs[clientId] : undefined;

const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?(?:\/[!-~]*)?$/;

/** RFC 8252 §7.3: an address of this machine, at any port. Never a name, which could resolve to another machine. */
export function isLoopbackRedirect(address: string): boolean {
  if (address.length > 500 || address.includes('#') || address.includes('\\')) return false;
  const match = loopback.exec(address);
  return match !== null && URL.canParse(address) && Number(match[1] ?? 80) > 0;
}

const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const userCodeLength = 8;

/** RFC 8628 §6.1: 20 consonants, so that no words appear; 8 of them are 34 bits. */
export function generateUserCode(randomIndex: (limit: number) => number): string {
  return Array.from({ length: userCodeLength }, () => alphabet[randomIndex(alphabet.length)]).join('');
}

/** What a person typed, without hyphens and blanks; undefined if it cannot be a code. */
export function readUserCode(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > 40) return undefined;
  const code = text.toUpperCase().replaceAll(/[^A-Z]/g, '');
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(code) ? code : undefined;
}

export const showUserCode = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;
