/** What a step ran, from which its lineage is read when it has succeeded. */
import type { Dataset } from '@headgate/contract';
import { lineageGapsLimit } from '@headgate/contract/without-schemas';

export type Place = Pick<Dataset, 'kind' | 'name'>;

export interface RanSql {
  /** Without secrets, each text once, in the order in which it first ran. */
  statements: string[];
  /** The places that paths of files in the statements stand for. */
  files: Record<string, Place>;
  gaps: string[];
}

export interface RanSqlRecord {
  /** @param shown without secrets; undefined if it is not shown */
  add(shown: string | undefined): void;
  /** A path in statements stands for this place. */
  nameFile(path: string, place: Place): void;
  /** Undefined if no statement ran. */
  take(): RanSql | undefined;
}

/** Characters of the statements of one step. A longer statement is cut, and known by its tables. */
const charactersLimit = 1_000_000;
const statementsLimit = 1_000;
export const statementLimit = 300_000;

export function createRanSqlRecord(): RanSqlRecord {
  const statements = new Set<string>();
  const gaps = new Set<string>();
  const files: Record<string, Place> = {};
  let characters = 0;
  return {
    add(shown) {
      if (shown === undefined) gaps.add('a statement has a secret in its code, so that it is not analyzed');
      else if (!statements.has(shown)) {
        const text = shown.length <= statementLimit ? shown : shown.slice(0, statementLimit);
        if (statements.size === statementsLimit || characters + text.length > charactersLimit) {
          gaps.add(`statements after the first ${statements.size} of the step are not analyzed`);
          return;
        }
        characters += text.length;
        statements.add(text);
      }
    },
    nameFile(path, place) {
      if (Object.keys(files).length < lineageGapsLimit) files[path] = place;
    },
    take() {
      if (statements.size + gaps.size === 0) return undefined;
      return { statements: [...statements], files, gaps: [...gaps] };
    },
  };
}
