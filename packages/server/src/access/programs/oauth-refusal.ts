/** Errors in the format of OAuth (RFC 6749 §5.2, RFC 8628 §3.5). */

export type OAuthError =
  | 'invalid_request'
  | 'invalid_grant'
  | 'invalid_client'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_token_type'
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'
  | 'access_denied'
  | 'temporarily_unavailable';

export class OAuthRefusal extends Error {
  readonly error: OAuthError;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(error: OAuthError, description: string, status = 400, headers: Record<string, string> = {}) {
    super(description);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

const longestValue = 2_048;

/** A parameter of a form. Throws OAuthRefusal. */
export function requireParameter(form: URLSearchParams, name: string, longest = longestValue): string {
  const value = form.get(name);
  if (value === null || value === '')
    throw new OAuthRefusal('invalid_request', `${name} is missing; send it.`);
  if (value.length > longest)
    throw new OAuthRefusal('invalid_request', `${name} has more than ${longest} characters.`);
  return value;
}
