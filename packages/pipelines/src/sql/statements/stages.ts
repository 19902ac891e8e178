/**
 * CREATE STAGE and DROP STAGE. A stage is a name for a place in an object store. The embedded warehouse keeps stages as
 * rows of a table, where components that name one find its address (docs/adr/0108-stages-are-rows.md).
 */

import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { readReference } from '../rewrite/table-names.ts';
import { placeSchema } from '../tokens/names.ts';
import { quoteNames, quoteText, readText } from '../tokens/tokens.ts';
import { findChainEnd, hasWords, isGroup, isSymbol, type Node, readChain } from '../tokens/tree.ts';
import type { Modifiers } from './creation.ts';
import { stageTable } from './own-tables.ts';
import type { StatementSql } from './statement-sql.ts';

const stages = quoteNames(['main', stageTable]);
const createStages = `CREATE TABLE IF NOT EXISTS ${stages} (stage_name VARCHAR PRIMARY KEY, url VARCHAR NOT NULL, endpoint VARCHAR)`;

interface StageName {
  /** In its table. */
  readonly key: string;
  readonly written: string;
  readonly next: number;
}

function readStageName(nodes: readonly Node[], at: number, frame: Frame): StageName {
  const next = findChainEnd(nodes, at);
  if (next === at) refuse(frame, nodes[at - 1], 'the name of the stage is missing');
  const chain = nodes.slice(at, next);
  const { database, schema, table } = readReference(readChain(chain), frame, chain[0]);
  const { path } = placeSchema(database, schema, frame.script.names);
  const key = quoteText(quoteNames([...path, table]).toLowerCase());
  return { key, written: copyNodes(frame, chain), next };
}

const notHere = (what: string, remedy: string) => `${what} is not supported here: ${remedy}`;

export function renderCreateStage(
  nodes: readonly Node[],
  { replaces, temporary, at }: Modifiers,
  frame: Frame,
): StatementSql {
  if (temporary)
    refuse(frame, nodes[at], notHere('a temporary stage', 'create a stage, and drop it afterwards'));
  const ifNotExists = hasWords(nodes, at + 1, 'IF', 'NOT', 'EXISTS');
  const { key, written, next } = readStageName(nodes, at + 1 + (ifNotExists ? 3 : 0), frame);
  const options = readOptions(nodes.slice(next), frame);
  const url = options.get('URL');
  if (url === undefined)
    refuse(
      frame,
      nodes[at],
      notHere(
        'a stage without URL',
        "give the address of an object store, such as URL = 's3://bucket/folder/'",
      ),
    );
  if (options.has('CREDENTIALS'))
    refuse(
      frame,
      nodes[at],
      notHere(
        'CREDENTIALS of a stage',
        'remove it; components that name the stage take their `credentials`, or the project’s connection to the cloud',
      ),
    );
  const withoutEffect = [...options.keys()].filter((option) => option !== 'URL' && option !== 'ENDPOINT');
  if (withoutEffect.length > 0)
    frame.notes.add(`${withoutEffect.join(', ')} of the stage ${written} has no effect here`);
  const endpoint = options.get('ENDPOINT');
  const values = `${quoteText(url)}, ${endpoint === undefined ? 'NULL' : quoteText(endpoint)}`;
  frame.before.push(createStages);
  const kind = 'CREATE STAGE';
  if (replaces) return { sql: `INSERT OR REPLACE INTO ${stages} VALUES (${key}, ${values})`, kind };
  if (ifNotExists) return { sql: `INSERT OR IGNORE INTO ${stages} VALUES (${key}, ${values})`, kind };
  const exists = `error(${quoteText(`the stage ${written} exists: write CREATE OR REPLACE STAGE, or drop it first`)})`;
  return {
    sql: `INSERT INTO ${stages} SELECT CASE WHEN EXISTS (${renderStage(key)}) THEN ${exists} ELSE ${key} END, ${values}`,
    kind,
  };
}

/** `OPTION = value`, also without the sign. A value in parentheses is ''. */
function readOptions(nodes: readonly Node[], frame: Frame): Map<string, string> {
  const options = new Map<string, string>();
  let at = 0;
  while (at < nodes.length) {
    const option = nodes[at];
    if (option?.kind !== 'word') refuse(frame, option, 'CREATE STAGE has OPTION = value after the name');
    const sign = isSymbol(nodes[at + 1], '=') ? 1 : 0;
    const value = nodes[at + 1 + sign];
    if (value === undefined) refuse(frame, option, `${option.value} has no value`);
    const isText = value.kind === 'text';
    if ((option.value === 'URL' || option.value === 'ENDPOINT') && !isText)
      refuse(frame, option, `the value of ${option.value} must be a text in quotes`);
    options.set(option.value, isText ? readText(value.value) : isGroup(value) ? '' : value.value);
    at += 2 + sign;
  }
  return options;
}

const renderStage = (key: string) => `SELECT 1 FROM ${stages} WHERE stage_name = ${key}`;

/** `DROP STAGE [IF EXISTS] name` */
export function renderDropStage(nodes: readonly Node[], frame: Frame): StatementSql {
  const ifExists = hasWords(nodes, 2, 'IF', 'EXISTS');
  const { key, written } = readStageName(nodes, ifExists ? 4 : 2, frame);
  frame.before.push(createStages);
  const missing = `error(${quoteText(`there is no stage ${written}`)})`;
  const checked = `CASE WHEN EXISTS (${renderStage(key)}) THEN ${key} ELSE ${missing} END`;
  return {
    sql: `DELETE FROM ${stages} WHERE stage_name = ${ifExists ? key : checked}`,
    kind: 'DROP STAGE',
  };
}
