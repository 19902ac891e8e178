/** Short forms of SCIM requests, for the tests of the directory. */
import assert from 'node:assert/strict';
import {
  type ScimError,
  type ScimGroup,
  type ScimType,
  type ScimUser,
  scimBase,
  scimUrns,
} from '@headgate/contract';
import type { Answer, Client } from './client.ts';

/** Below the base of the client. */
const scimPath = scimBase.replace(/^\/v1/, '');
const scimJson = 'application/scim+json';

/** A directory as a client sees it. Errors are those of SCIM. */
export function createDirectoryClient(client: Client) {
  const send = <Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    client.send<Body>(method, scimPath + path, {
      ...(body === undefined ? {} : { body }),
      headers: { accept: scimJson, ...(body === undefined ? {} : { 'content-type': scimJson }), ...headers },
    });
  return {
    send,
    createUser: async (userName: string, more: object = {}) =>
      (await send<ScimUser>('POST', '/Users', { schemas: [scimUrns.user], userName, ...more })).body,
    createGroup: async (displayName: string, more: object = {}) =>
      (await send<ScimGroup>('POST', '/Groups', { schemas: [scimUrns.group], displayName, ...more })).body,
    user: async (id: string) => (await send<ScimUser>('GET', `/Users/${id}`)).body,
    group: async (id: string) => (await send<ScimGroup>('GET', `/Groups/${id}`)).body,
    patchUser: (id: string, ...operations: object[]) =>
      send<ScimUser>('PATCH', `/Users/${id}`, patch(operations)),
    patchGroup: (id: string, ...operations: object[]) =>
      send<ScimGroup>('PATCH', `/Groups/${id}`, patch(operations)),
    find: async (endpoint: 'Users' | 'Groups', filter: string) => {
      const answer = await send<{ totalResults: number; Resources: ScimUser[] }>(
        'GET',
        `/${endpoint}?filter=${encodeURIComponent(filter)}`,
      );
      return answer.body;
    },
  };
}

export type DirectoryClient = ReturnType<typeof createDirectoryClient>;

function patch(Operations: object[]) {
  return { schemas: [scimUrns.patch], Operations };
}

/** The ids of the members, sorted. */
export function memberIds(group: ScimGroup): string[] {
  return (group.members ?? []).map(({ value }) => String(value)).toSorted();
}

export function requireScimError(answer: Answer, status: number, scimType?: ScimType): ScimError {
  assert.match(answer.headers['content-type'] ?? '', /^application\/scim\+json\b/, answer.text);
  const error = JSON.parse(answer.text) as ScimError;
  assert.deepEqual([error.status, error.scimType], [String(status), scimType], answer.text);
  return error;
}
