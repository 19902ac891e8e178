/** Which names of an agent's vaults each project may use: docs/adr/0083. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { mapOf } from '../primitives.ts';

/** The names, and the prefixes, that are granted to one project. */
export const vaultNameLimit = 1_000;
const VaultText = Type.String({ minLength: 1, maxLength: 1_024 });
const list = (description: string) =>
  Type.Optional(Type.Array(VaultText, { maxItems: vaultNameLimit, uniqueItems: true, description }));

export const VaultAccess = named(
  'VaultAccess',
  Type.Object(
    {
      projects: mapOf(
        named(
          'ProjectVaultAccess',
          Type.Object({
            prefixes: list(
              'Names that begin with one of them, such as `shared/`. The rest of the name has letters, digits and `_./@+=-`, and no empty part, `.` or `..`',
            ),
            names: list('Whole names of secrets'),
          }),
        ),
        { maxProperties: 1_000, description: 'By the id of the project' },
      ),
    },
    {
      description:
        'The names in the vaults of the agent that each project may use, beside those that begin with its own id and `/` or `-`. Shown to callers who may manage agents',
    },
  ),
);
export type VaultAccess = Static<typeof VaultAccess>;

/** Of operations whose body may name a secret of a vault. */
export const vaultNameProblems = ['vault-name-not-granted', 'too-many-vault-names'] as const;
