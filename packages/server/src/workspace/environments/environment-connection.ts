/** The connections of an environment in a request. Pure. */
import {
  type DefaultConnections,
  dataPlatformWords,
  type EnvironmentConnectionOverride,
} from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';
import { readProperties } from './connection-property.ts';

export interface DefaultConnection {
  provider: string;
  connectionName: string;
  /** Path in the request. */
  field: string;
}

/** Throws `unknown-word`, and `duplicate-connection` for two spellings of one provider. */
export function readDefaultConnections(input: DefaultConnections = {}): DefaultConnection[] {
  const { platformConnectionType: types, authProvider: providers } = dataPlatformWords;
  const found = new Map<string, DefaultConnection>();
  for (const [type, byProvider] of Object.entries(input)) {
    const field = 'body.defaultConnections';
    if (findWord(types, type) === undefined)
      throw problem('unknown-word', { field, found: type, allowed: types });
    for (const [written, connectionName] of Object.entries(byProvider)) {
      const provider = findWord(providers, written);
      if (provider === undefined)
        throw problem('unknown-word', { field: `${field}.${type}`, found: written, allowed: providers });
      if (found.has(provider)) throw problem('duplicate-connection', { field, name: provider });
      found.set(provider, { provider, connectionName, field: `${field}.${type}.${written}` });
    }
  }
  return [...found.values()];
}

/** Returns the rows to store. Throws `duplicate-connection` and `connection-properties`. */
export function readConnectionOverrides(
  inputs: readonly EnvironmentConnectionOverride[] = [],
): EnvironmentConnectionOverride[] {
  const names = new Set<string>();
  return inputs.map(({ connectionName, connectionProperties }, index) => {
    if (names.has(connectionName))
      throw problem('duplicate-connection', { field: 'body.connectionOverrides', name: connectionName });
    names.add(connectionName);
    const field = `body.connectionOverrides[${index}].connectionProperties`;
    return { connectionName, connectionProperties: readProperties(connectionProperties, field) };
  });
}
