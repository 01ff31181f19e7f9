// Compiles the contracts of this folder. Usage: node compile.cjs <folder of the solc package>. It writes contracts.json to stdout.
const fs = require('fs');
const path = require('path');

const solc = require(path.resolve(process.argv[2]));
const sources = {};
for (const file of fs.readdirSync(__dirname).sort()) {
  if (file.endsWith('.sol')) sources[file] = { content: fs.readFileSync(path.join(__dirname, file), 'utf8') };
}
const output = JSON.parse(solc.compile(JSON.stringify({
  language: 'Solidity',
  sources,
  settings: {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
})));
for (const e of output.errors || []) {
  console.error(e.formattedMessage);
  process.exitCode = 1;
}
const rows = ['EAS', 'SchemaRegistry', 'Token', 'Wallet'].map((name) => {
  const c = output.contracts[name + '.sol'][name];
  return JSON.stringify({ name, abi: c.abi, create: '0x' + c.evm.bytecode.object, code: '0x' + c.evm.deployedBytecode.object });
});
process.stdout.write('{"compiler":' + JSON.stringify(solc.version()) + ',"contracts":[\n' + rows.join(',\n') + '\n]}\n');
