/** Addresses of SCIM. */
import { scimBase } from '@headgate/contract';

const base = `/dpc${scimBase}`;

export function isScimPath(url: string): boolean {
  return url.startsWith(base) && ['/', '?', undefined].includes(url[base.length]);
}

/** Without the slash at the end of its path, which Microsoft Entra ID and others send: `/Users/?filter=…`. */
export function trimScimSlash(url: string): string {
  if (!isScimPath(url)) return url;
  const queryStart = url.indexOf('?');
  const path = queryStart < 0 ? url : url.slice(0, queryStart);
  return path.endsWith('/') ? path.slice(0, -1) + url.slice(path.length) : url;
}
