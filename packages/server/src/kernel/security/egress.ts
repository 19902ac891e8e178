/**
 * Guards outgoing requests to addresses that a tenant can set, by the judge of addresses that agents use too.
 * The caller must connect to the checked addresses and check redirects again. ADR 0081.
 */
import {
  createEgress,
  type EgressAllow,
  EgressRefused,
  type Resolve,
  type ResolvedAddress,
} from '@headgate/contract/egress';

export { EgressRefused, EgressUnresolved, parseEgressAllow, type Resolve } from '@headgate/contract/egress';

export interface EgressGuard {
  /** The checked addresses to connect to. Throws EgressRefused with a message for the caller. */
  check(address: string): Promise<CheckedAddress>;
}

export interface CheckedAddress {
  /** Without user and password, so that it can be stored and logged. */
  url: URL;
  /** All addresses of the name. Send `url.host` as Host header and TLS server name. */
  addresses: readonly ResolvedAddress[];
}

export function createEgressGuard(allow: EgressAllow, resolve?: Resolve): EgressGuard {
  const egress = createEgress({ allow, setting: 'HEADGATE_EGRESS_ALLOW', operator: 'the operator', resolve });
  return {
    async check(address) {
      const url = parseAddress(address);
      return { url, addresses: await egress.check(url) };
    },
  };
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new EgressRefused('The address must be an absolute http or https URL.');
  url.username = '';
  url.password = '';
  return url;
}
