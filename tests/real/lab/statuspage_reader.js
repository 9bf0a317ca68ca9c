// Reads a status page as the public npm client `statuspage.io` does, and holds every answer against the client's own types.
// node statuspage_reader.js MODULES URL...; prints as JSON what it read of each, with what is not as the types say.
const { join } = require("node:path");
const [modules, ...urls] = process.argv.slice(2);
const ts = require(join(modules, "typescript"));
const { Statuspage } = require(join(modules, "statuspage.io"));

const file = join(modules, "statuspage.io/dist/interfaces/Result.d.ts");
const program = ts.createProgram([file], { strict: true });
const checker = program.getTypeChecker();
const types = new Map();
ts.forEachChild(program.getSourceFile(file), (node) => {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) types.set(node.name.text, checker.getTypeAtLocation(node.name));
});

function flaws(value, type, path) {
  if (type.isUnion()) {
    const each = type.types.map((one) => flaws(value, one, path));
    return each.some((found) => found.length === 0) ? [] : [`${path}: ${JSON.stringify(value)} is no ${checker.typeToString(type)}`];
  }
  if (type.isStringLiteral()) return value === type.value ? [] : [`${path}: ${JSON.stringify(value)}`];
  if (type.flags & ts.TypeFlags.Null) return value === null ? [] : [`${path}: no null`];
  if (type.flags & ts.TypeFlags.BooleanLiteral) return value === (checker.typeToString(type) === "true") ? [] : [`${path}: no boolean`];
  const simple = { string: ts.TypeFlags.String, number: ts.TypeFlags.Number };
  for (const [name, flag] of Object.entries(simple)) if (type.flags & flag) return typeof value === name ? [] : [`${path}: no ${name}`];
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type);
    return Array.isArray(value) ? value.flatMap((one, at) => flaws(one, item, `${path}[${at}]`)) : [`${path}: no array`];
  }
  if (typeof value !== "object" || value === null) return [`${path}: no object`];
  return checker.getPropertiesOfType(type).flatMap((member) =>
    member.name in value ? flaws(value[member.name], checker.getTypeOfSymbol(member), `${path}.${member.name}`) : [`${path}.${member.name} is missing`]);
}

async function read(url) {
  const page = new Statuspage("local");
  page.setApiUrl(url);
  const { api } = page;
  const asked = {
    Summary: () => api.getSummary(), Status: () => api.getStatus(), Components: () => api.getComponents(),
    Incidents: () => api.incidents.getAll(), Unresolved: () => api.incidents.getUnresolved(),
    ScheduledMaintenances: () => api.scheduledMaintenances.getAll(), Upcoming: () => api.scheduledMaintenances.getUpcoming(),
    Active: () => api.scheduledMaintenances.getActive(),
  };
  const typed = { Unresolved: "Incidents", Upcoming: "ScheduledMaintenances", Active: "ScheduledMaintenances" };
  const read = {}, wrong = [];
  for (const [name, ask] of Object.entries(asked)) {
    read[name] = await ask();
    wrong.push(...flaws(read[name], types.get(typed[name] ?? name), name));
  }
  const broken = flaws({ ...read.Status, status: { indicator: 1 } }, types.get("Status"), "broken");
  return { read, wrong, broken };
}

Promise.all(urls.map(read)).then((found) => console.log(JSON.stringify(found)));
