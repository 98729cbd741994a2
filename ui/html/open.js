/* SPDX-License-Identifier: MIT */
/* Opens the page on its data, or says why it cannot be shown. */

/* show(data) checks it, and gives what makes the page once that is in sight. */
async function openPage(version, read, show) {
	const message = byId("message");
	try {
		const make = show(await readData(byId("data").textContent.trim(), version, read));
		message.hidden = true;
		byId("page").hidden = false;
		window.ctopPage = make();
	} catch (error) {
		message.hidden = false;
		message.textContent = typeof DecompressionStream === "undefined"
			? "This browser is too old for this page: it needs one of 2023 or later." : `This page cannot be shown: ${error.message}`;
	}
}
