/** Cases of single rules: what they find, and what looks like it and is right. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleFinding } from './builtin/rule.ts';
import { reviewFile, reviewProject } from './review.ts';
import { readRuleSettings } from './rule-settings.ts';

const settings = await readRuleSettings([]);

async function review(files: Record<string, object>): Promise<RuleFinding[]> {
  const reviews = await Promise.all(
    Object.entries(files).map(([path, file]) => reviewFile(path, JSON.stringify(file), settings)),
  );
  const facts = reviews.flatMap((each) => (each.facts === undefined ? [] : [each.facts]));
  assert.equal(facts.length, reviews.length, JSON.stringify(reviews.flatMap(({ findings }) => findings)));
  return [
    ...reviews.flatMap(({ findings }) => findings),
    ...[...reviewProject(facts, undefined, settings).values()].flat(),
  ];
}

const chain = (...components: object[]) => ({
  type: 'orchestration',
  pipeline: {
    components: Object.fromEntries([
      ['Start', { type: 'start', transitions: { unconditional: ['C1'] } }],
      ...components.map((component, index) => [
        `C${index + 1}`,
        {
          ...(index + 1 < components.length ? { transitions: { success: [`C${index + 2}`] } } : {}),
          ...component,
        },
      ]),
    ]),
  },
});
const script = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });

const finds = async (rule: string, file: object, path = 'a.orch.yaml') =>
  (await review({ [path]: file })).some((each) => each.rule === rule);
const findsInSql = (rule: string, sql: string) => finds(rule, chain(script(sql)));

const sqlCases: readonly [rule: string, found: readonly string[], right: readonly string[]][] = [
  [
    'select-star',
    [
      'select * from a',
      'select t.* from a t',
      'create table b as select distinct * from a',
      'SELECT *\nFROM "My Table"',
    ],
    [
      'select count(*) from a',
      'with c as (select id from a) select * from c',
      'select * from (select id from a)',
      'select a from b where exists (select * from c)',
      'select a * b from c',
      "select '* from a'",
      'select id -- select * from a\nfrom a',
    ],
  ],
  [
    'cartesian-joins',
    [
      'select 1 from a, b',
      'select 1 from a cross join b',
      'select 1 from a join b on 1 = 1',
      'select 1 from a join b',
    ],
    [
      'select 1 from a, b where a.id = b.id',
      'select 1 from a join b using (id)',
      'select 1 from a join b join c on b.id = c.id on a.id = b.id',
      'select 1 from a, lateral flatten(a.x) f',
      'select 1 from a cross join (select max(x) as x from b)',
      'with p as (select 1 as x) select 1 from a, p',
      'select 1 from a natural join b',
    ],
  ],
  [
    'missing-grouping',
    [
      'select a, sum(b) from t',
      'select a, c, count(*) from t group by a',
      'select t.a as x, max(b) from t group by y',
    ],
    [
      'select a, sum(b) from t group by 1',
      'select a, sum(b) from t group by all',
      'select t.a as x, sum(b) from t group by x',
      'select a, sum(b) over (partition by a) from t',
      'select a, (select max(b) from s) from t',
      "select 'x', count(*) from t",
      'select current_date, count(*) from t',
      'select a, sum(b) from t group by rollup (a)',
    ],
  ],
  [
    'null-comparisons',
    [
      'select a from t where b = null',
      'select a from t join s on t.a <> NULL',
      'select case when a = null then 1 end from t',
    ],
    [
      'select a from t where b is null',
      'update t set a = null where b is not null',
      'insert into t values (null)',
      "create file format f type = csv null_if = ('NULL')",
      'call p(x => null)',
    ],
  ],
  [
    'update-without-key',
    ['update a set b = 1', 'select 1; update a set b = 1;'],
    [
      'update a set b = 1 where c',
      'update a set b = s.b from s where s.id = a.id',
      'merge into a using s on a.id = s.id when matched then update set b = 1',
    ],
  ],
  [
    'hard-coded-dates',
    ["select a from t where d >= '2024-01-31'", "select a from t where d > timestamp '2024-01-31 10:00:00'"],
    [
      "select a from t where d < '9999-12-31'",
      "insert into t values ('2024-01-31')",
      'select a from t where d > current_date - 7',
    ],
  ],
  [
    'hard-coded-databases',
    ['select a from prod.sales.orders', 'insert into prod.sales.orders select 1'],
    [
      'select o.a from orders o',
      'select extract(year from o.d) from orders o',
      'select a from information_schema.tables',
    ],
  ],
  [
    'plain-secrets',
    [
      "create user u password = 'Tr0ub4dor'",
      "create role u login password 'Tr0ub4dor'",
      "alter user u with encrypted PASSWORD\n'Tr0ub4dor'",
      "create user u identified by 'Tr0ub4dor'",
      "create user mapping for u server s options (user 'u', password 'Tr0ub4dor')",
      "create stage s credentials = (aws_key_id = 'AKIAABCDEFGHIJKLMNOP')",
      "call api('Bearer abcdefghijkl0123456789')",
    ],
    [
      "create user u password = '<password>'",
      "create user u password '<password>'",
      `create user u password '\${secret("loader")}'`,
      'create user u password null',
      "create user u password = 'your_password'",
      'select password from users',
      "select token = 'x' from t",
      'create secret s type = password',
    ],
  ],
];

for (const [rule, found, right] of sqlCases) {
  for (const sql of found)
    test(`${rule} is found in ${sql}`, async () => assert.equal(await findsInSql(rule, sql), true));
  for (const sql of right)
    test(`${rule} is not found in ${sql}`, async () => assert.equal(await findsInSql(rule, sql), false));
}

test('SQL that cannot be read gives no finding of its queries', async () => {
  assert.equal(await findsInSql('select-star', "select * from a where b = 'no end"), false);
});

test('a filter that compares with NULL has a fix that keeps its sense', async () => {
  const filter = (row: string[]) => ({
    type: 'transformation',
    pipeline: { components: { F: { type: 'filter', sources: [], parameters: { filterConditions: [row] } } } },
  });
  const fixOf = async (row: string[]) =>
    (await review({ 'a.tran.yaml': filter(row) })).find(({ rule }) => rule === 'null-comparisons')?.fix;
  const path = '/pipeline/components/F/parameters/filterConditions/0';
  assert.deepEqual(await fixOf(['a', 'Not', 'Equal to', 'NULL']), [
    { op: 'replace', path, value: ['a', 'Not', 'Null', ''] },
  ]);
  assert.equal(await fixOf(['a', 'Is', 'Equal to', 'x']), undefined);
});

const pythonCases: readonly [rule: string, found: readonly string[], right: readonly string[]][] = [
  [
    'shell-variables',
    ['os.system("cp " + name)', 'subprocess.run(f"cp {name}", shell=True)', 'os.popen("ls %s" % name)'],
    [
      'os.system("ls")',
      'subprocess.run(["cp", name])',
      '# os.system(f"cp {name}")',
      'subprocess.run(f"cp {name}")',
    ],
  ],
  [
    'secret-prints',
    ['print(password)', 'print(f"{api_key}")', 'print("key", token)', 'logging.info(client_secret)'],
    ['print("password")', 'print(len(password))', 'print(tokens)', 'password = read()'],
  ],
  [
    'plain-secrets',
    ['password = "S3cret-w0rd"', 'api_key: "abcdef0123456789"', '-----BEGIN PRIVATE KEY-----\nMIIE'],
    [
      'password = os.environ["PASSWORD"]',
      'password = get_secret("x")',
      'token = response.json()["token"]',
      'secret = "${secret(\'x\')}"',
    ],
  ],
];

for (const [rule, found, right] of pythonCases) {
  const python = (text: string) => chain({ type: 'python-script', parameters: { script: text } });
  for (const text of found)
    test(`${rule} is found in ${text}`, async () => assert.equal(await finds(rule, python(text)), true));
  for (const text of right)
    test(`${rule} is not found in ${text}`, async () => assert.equal(await finds(rule, python(text)), false));
}

test('two called pipelines that replace one table are two writers; branches of an if are not', async () => {
  const write = (table: string) => ({
    type: 'transformation',
    pipeline: {
      components: {
        Days: { type: 'generate-sequence' },
        Out: { type: 'rewrite-table', sources: ['Days'], parameters: { targetTable: table } },
      },
    },
  });
  const call = (transformationJob: string, transitions: object = {}) => ({
    type: 'run-transformation',
    parameters: { transformationJob },
    transitions,
  });
  const parts = { 'x.tran.yaml': write('t'), 'y.tran.yaml': write('t') };
  const isFound = async (main: object) =>
    (await review({ 'main.orch.yaml': main, ...parts })).some(({ rule }) => rule === 'two-writers');
  assert.equal(await isFound(chain(call('x', { success: ['C2'] }), call('y'))), true);
  const branches = chain(
    { type: 'if', parameters: {}, transitions: { true: ['C2'], false: ['C3'] } },
    call('x'),
    call('y'),
  );
  assert.equal(await isFound(branches), false);
  const afterFailure = chain(call('x', { failure: ['C2'] }), call('y'));
  assert.equal(await isFound(afterFailure), false);
});

test('a join of columns that create-table declares with different types is found', async () => {
  const create = (newTableName: string, type: string) => ({
    type: 'create-table',
    parameters: { createReplace: 'Replace', newTableName, columns: [['id', type]] },
  });
  const input = (targetTable: string) => ({
    type: 'table-input',
    parameters: { targetTable, columnNames: ['id'] },
  });
  const joined = {
    type: 'transformation',
    pipeline: {
      components: {
        A: input('a'),
        B: input('b'),
        J: {
          type: 'join',
          sources: ['A', 'B'],
          parameters: {
            mainTable: 'A',
            mainTableAlias: 'a',
            joins: [['B', 'b', 'Inner']],
            joinExpressions: [['"a"."id" = "b"."id"', 'a_Inner_b']],
            columnMappings: [['a.id', 'id']],
          },
        },
      },
    },
  };
  const isFound = async (one: string, other: string) =>
    (
      await review({ 'm.orch.yaml': chain(create('a', one), create('b', other)), 'j.tran.yaml': joined })
    ).some(({ rule }) => rule === 'join-type-mismatch');
  assert.equal(await isFound('VARCHAR', 'NUMBER'), true);
  assert.equal(await isFound('INTEGER', 'NUMBER'), false);
});

test('a variable that an iterator or an earlier component sets is not read before', async () => {
  const variables = { day: { metadata: { type: 'TEXT', visibility: 'PRIVATE' }, defaultValue: '' } };
  const read = script("delete from a where d = '${day}'");
  const iterated = chain({
    type: 'fixed-iterator',
    iterationTarget: 'Read',
    parameters: { variablesToIterate: ['day'], iterationValues: [['x']] },
  });
  const withTarget = {
    ...iterated,
    pipeline: { variables, components: { ...iterated.pipeline.components, Read: read } },
  };
  assert.equal(await finds('variables-before-set', withTarget), false);
  const member = chain(script("delete from a where d = '${grid.day.length}'"));
  assert.equal(
    await finds('variables-before-set', { ...member, pipeline: { ...member.pipeline, variables } }),
    false,
  );
  const before = chain(read);
  assert.equal(
    await finds('variables-before-set', { ...before, pipeline: { ...before.pipeline, variables } }),
    true,
  );
});

test('a large hostile script is read in bounded time', async () => {
  const begin = process.threadCpuUsage();
  await review({
    'a.orch.yaml': chain(
      script('select from '.repeat(20_000)),
      script('('.repeat(100_000)),
      script('select a, '.repeat(20_000)),
    ),
  });
  assert.ok(process.threadCpuUsage(begin).user < 20_000_000);
});
