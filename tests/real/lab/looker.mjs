// Looks at pages as people do: each at several widths, light and dark, with axe-core's rules for who cannot see them.
// node looker.mjs PLAN.json; prints what it saw as JSON. playwright-core and axe-core lie beside the plan's `modules`.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(`${plan.modules}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: plan.chromium, args: quiet });
const seen = [];
for (const scheme of plan.schemes) {
  for (const width of plan.widths) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme,
      extraHTTPHeaders: plan.headers, javaScriptEnabled: plan.scripts ?? true });
    for (const [name, path] of Object.entries(plan.pages)) {
      const page = await context.newPage();
      const said = [], asked = [];
      page.on("console", (message) => { if (["error", "warning"].includes(message.type())) said.push(message.text()); });
      page.on("pageerror", (error) => said.push(String(error)));
      page.on("request", (request) => asked.push(request.url()));
      const answer = await page.goto(plan.base + path, { waitUntil: "networkidle" });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      const links = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((each) => each.href));
      await page.keyboard.press("Tab");
      const first = await page.evaluate(() => document.activeElement.getAttribute("href"));
      let violations = [];
      if (plan.scripts ?? true) {
        await page.evaluate(axe); // the debugger's own way in, which no content policy forbids
        violations = await page.evaluate(async () => {
          const result = await globalThis.axe.run(document, { resultTypes: ["violations"] });
          return result.violations.map((each) => ({ id: each.id, impact: each.impact, help: each.help,
            nodes: each.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} :: ${node.failureSummary}`) }));
        });
      }
      await page.screenshot({ path: `${plan.out}/${name}-${width}-${scheme}.png`, fullPage: true });
      seen.push({ name, width, scheme, status: answer.status(), title: await page.title(), said, asked, links, first, overflow, violations });
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(seen));
