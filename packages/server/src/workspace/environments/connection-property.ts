/** Properties of connections as a request gives them: a value, or where a secret is kept. Pure. */
import { type ConnectionPropertyMap, type PropertyOverride, secretProperties } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';

/**
 * Returns what is stored. Throws `connection-properties` for a property that has both a value and a secret,
 * and for a secret that is written out; `field` is where the properties are.
 */
export function readProperties(given: ConnectionPropertyMap, field: string): ConnectionPropertyMap {
  const known = Object.entries(given).map(([name, property]) => [
    name,
    readProperty(name, property, `${field}.${name}`),
  ]);
  return Object.fromEntries(known) as ConnectionPropertyMap;
}

function readProperty(name: string, property: PropertyOverride, field: string): PropertyOverride {
  if ('value' in property) {
    if ('secretName' in property)
      throw problem('connection-properties', {
        field,
        reason: 'has both `value` and `secretName`; send one',
      });
    if (secretProperties.includes(name)) {
      const reason = 'is a secret; name where it is kept: {"secretName": "…", "secretKey": "…"}';
      throw problem('connection-properties', { field, reason });
    }
    return { value: property.value };
  }
  const { secretName, secretKey } = property;
  return secretKey === undefined ? { secretName } : { secretName, secretKey };
}
