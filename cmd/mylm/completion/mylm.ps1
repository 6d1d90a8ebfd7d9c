# Completion of mylm for PowerShell. Load it with:
#   mylm completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName mylm, mylm.exe -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $before = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        Select-Object -Skip 1 |
        ForEach-Object {
            if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
        })
    & $commandAst.CommandElements[0].Extent.Text __complete "=$wordToComplete" @before 2>$null |
        Where-Object { -not $_.StartsWith(':') } | # without candidates PowerShell completes names of files
        ForEach-Object {
            $value, $about = $_ -split "`t", 2
            if (-not $about) { $about = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
        }
}
