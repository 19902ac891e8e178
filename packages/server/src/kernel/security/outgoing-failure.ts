/** What went wrong with an outgoing request, as a sentence for the tenant who set its address. */

/** What the sentence calls the other side. */
export type OtherSide = 'receiver' | 'host';

const byCode = (other: OtherSide): Readonly<Record<string, string>> => ({
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: `The ${other} closed the connection without a response.`,
  EPIPE: `The ${other} closed the connection without a response.`,
  ETIMEDOUT: 'The connection could not be opened in time.',
  EHOSTUNREACH: `The ${other} cannot be reached.`,
  ENETUNREACH: `The network of the ${other} cannot be reached.`,
  HPE_HEADER_OVERFLOW: 'The headers of the response are larger than 16 KiB.',
});

/** Codes of OpenSSL and of Node's check of the name. */
const aboutCertificate = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_(GET|VERIFY)|CRL/;

export function explainFailure(failure: unknown, other: OtherSide = 'receiver'): string {
  if (!(failure instanceof Error)) return 'The request failed.';
  const { code = '' } = failure as NodeJS.ErrnoException;
  const known = byCode(other)[code];
  if (known !== undefined) return known;
  if (aboutCertificate.test(code))
    return `The TLS certificate of the ${other} is not accepted: ${failure.message.slice(0, 300)}`;
  if (code.startsWith('HPE_')) return `The response is not valid HTTP (${code}).`;
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return `The ${other} does not speak TLS at this port.`;
  return code === '' ? 'The request failed.' : `The request failed (${code}).`;
}
