/** Parses HEADGATE_AGENT_VAULTS, a JSON list. The secrets of vaults are separate settings. */
import type { Secret } from '@headgate/contract';
import { trimAddress } from '../trimmed-address.ts';
import { type VaultKind, vaultKinds } from './vault.ts';

export type VaultSettings =
  | { kind: 'file'; name: string; key: Secret | undefined }
  | { kind: 'aws-secrets-manager'; name: string; region: string; endpoint?: string; prefix: string }
  | { kind: 'azure-key-vault'; name: string; address: string; authority?: string; prefix: string }
  | {
      kind: 'google-secret-manager';
      name: string;
      project: string;
      endpoint?: string;
      location?: string;
      prefix: string;
    }
  | {
      kind: 'hashicorp-vault';
      name: string;
      address: string;
      mount: string;
      namespace?: string;
      prefix: string;
      token: Secret | undefined;
    };

export interface VaultSecrets {
  fileKey: Secret | undefined;
  hashicorpToken: Secret | undefined;
}

const nameForm = /^[\w.-]{1,255}$/;
/** For stores whose names cannot contain `/`. */
const shortPrefixForm = /^[A-Za-z0-9-]{0,60}$/;
const prefixForm = /^[A-Za-z0-9_./-]{0,200}$/;

/** @throws Error with the fault in the text. */
export function parseVaults(text: string | undefined, secrets: VaultSecrets): VaultSettings[] {
  if (text === undefined || text === '') return [{ kind: 'file', name: 'default', key: secrets.fileKey }];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw new Error('the value is not JSON: use a list such as [{"kind": "file", "name": "default"}]');
  }
  if (!Array.isArray(list) || list.length === 0)
    throw new Error('the value must be a list of at least one vault');
  const vaults = list.map((each, index) => parseVault(each, `vault ${index + 1}`, secrets));
  const names = new Set(vaults.map(({ name }) => name));
  if (names.size < vaults.length) throw new Error('two vaults have the same name: rename one');
  return vaults;
}

function parseVault(input: unknown, which: string, secrets: VaultSecrets): VaultSettings {
  const members: Record<string, unknown> = typeof input === 'object' && input !== null ? { ...input } : {};
  const text = (member: string, form: RegExp, preset?: string): string => {
    const value = members[member] ?? preset;
    if (typeof value === 'string' && form.test(value)) return value;
    throw new Error(
      `${which}: ${member} is ${value === undefined ? 'missing' : `not of the form ${form.source}`}`,
    );
  };
  const kind = vaultKinds.find((each) => each === members.kind);
  if (kind === undefined) throw new Error(`${which}: kind must be one of ${vaultKinds.join(', ')}`);
  const name = text('name', nameForm);
  const parse: { [Kind in VaultKind]: () => Extract<VaultSettings, { kind: Kind }> } = {
    file: () => ({ kind: 'file', name, key: secrets.fileKey }),
    'aws-secrets-manager': () => ({
      kind: 'aws-secrets-manager',
      name,
      region: text('region', /^[a-z0-9-]{1,40}$/),
      ...(members.endpoint === undefined ? {} : { endpoint: parseAddress(text('endpoint', /^.+$/), which) }),
      prefix: text('prefix', prefixForm, ''),
    }),
    'azure-key-vault': () => ({
      kind: 'azure-key-vault',
      name,
      address: parseAddress(text('address', /^https:.+$/), which),
      ...(members.authority === undefined
        ? {}
        : { authority: parseAddress(text('authority', /^https:.+$/), which) }),
      prefix: text('prefix', shortPrefixForm, ''),
    }),
    'google-secret-manager': () => ({
      kind: 'google-secret-manager',
      name,
      project: text('project', /^[a-z0-9:.-]{1,100}$/),
      ...(members.endpoint === undefined
        ? {}
        : { endpoint: parseAddress(text('endpoint', /^https:.+$/), which) }),
      ...(members.location === undefined ? {} : { location: text('location', /^[a-z0-9-]{1,40}$/) }),
      prefix: text('prefix', shortPrefixForm, ''),
    }),
    'hashicorp-vault': () => ({
      kind: 'hashicorp-vault',
      name,
      address: parseAddress(text('address', /^.+$/), which),
      mount: text('mount', /^[\w./-]{1,200}$/, 'secret'),
      ...(members.namespace === undefined ? {} : { namespace: text('namespace', /^[\w./-]{1,200}$/) }),
      prefix: text('prefix', prefixForm, ''),
      token: secrets.hashicorpToken,
    }),
  };
  return parse[kind]();
}

function parseAddress(text: string, which: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.search || url.hash)
    throw new Error(
      `${which}: ${JSON.stringify(text)} must be an http or https address without user, query and fragment`,
    );
  return trimAddress(url);
}
